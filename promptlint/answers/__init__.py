"""What becomes of a finding: its fingerprint, and comments, reports and measurements that answer it."""
