"""What lies outside the project: functions, methods, prompts and calls that send, by rows and by names."""
