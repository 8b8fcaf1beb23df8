"""What the services of AWS have in common: how calls are signed, how errors are named, how SNS brings events."""
