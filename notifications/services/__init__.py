"""What the product can do, one verb per file. Knows nothing of HTTP requests, Celery or the admin."""
