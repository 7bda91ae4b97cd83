"""What runs leave for later ones on the disk, and what of it still holds after an edit."""
