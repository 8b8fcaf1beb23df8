"""One settings file for every environment: defaults for production, everything else from environment variables."""

from pathlib import Path

from config import sentry
from config.env import Environment
from config.logs import logging_settings
from notifications.lanes import Lane
from notifications.numbers import BODY_BYTES
from notifications.redaction import passwords_in, redactor
from providers.transport.choice import KINDS as TRANSPORTS
from providers.transport.foreign import ForeignRules

BASE_DIR = Path(__file__).resolve().parent.parent

env = Environment()

DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = env.required("SECRET_KEY")
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", default=["localhost", "127.0.0.1"])
PUBLIC_URL = env.str("PUBLIC_URL", default="http://localhost:8000").rstrip("/")  # what providers call back
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]

CREDENTIAL_KEYS = env.words("CREDENTIAL_KEYS")  # Fernet keys, newest first
ADDRESS_KEY = env.required("ADDRESS_KEY").encode()  # hashes addresses for suppression and search
DEFAULT_REGION = env.str("DEFAULT_REGION", default="") or None  # reads national phone numbers; unset refuses them
LANDFALL = env.numbers()

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_celery_beat",
    "ninja",  # its docs page, from our own files
    "notifications",
    "config",
]
MIDDLEWARE = [
    "notifications.api.middleware.request_ids",
    "notifications.api.middleware.problems",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
STATIC_URL = "static/"
WHITENOISE_USE_FINDERS = True  # the admin's files, without a collect step

DATABASES = {"default": env.database("DATABASE_URL", conn_max_age=600, conn_health_checks=True)}
DATABASES["default"].setdefault("OPTIONS", {}).update(
    connect_timeout=3,
    keepalives_idle=10,
    keepalives_interval=5,
    tcp_user_timeout=15_000,
    prepare_threshold=1 if env.bool("PREPARE_STATEMENTS", default=True) else None,  # how often a plan is not kept
    options="-c statement_timeout=30s -c lock_timeout=10s -c idle_in_transaction_session_timeout=30s",
)
DISABLE_SERVER_SIDE_CURSORS = True
DATA_UPLOAD_MAX_MEMORY_SIZE = BODY_BYTES
USE_TZ = True
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = ["config.formats"]

# A Celery message is only a hint that there may be work: losing every one of them costs seconds, never a notification.
# Each value that is not Celery's default was chosen against a measured fault; docs/celery.md names it.
CELERY_BROKER_URL = env.broker("CELERY_BROKER_URL")
_QUICKLY = {"max_retries": 1, "interval_start": 0, "interval_step": 0.1, "interval_max": 0.2}
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_timeout": 0.5,  # workers wait longer: config/celery.py
    "socket_connect_timeout": 0.5,
    "health_check_interval": 5,
    "socket_keepalive": True,
    "visibility_timeout": 300,
    "unacked_restore_interval": 10,
    "unacked_restore_throttle": 1,
    "global_keyprefix": env.str("BROKER_KEY_PREFIX", default="landfall:"),
    **_QUICKLY,
}
CELERY_TASK_PUBLISH_RETRY_POLICY = _QUICKLY
CELERY_BROKER_POOL_ACQUIRE_TIMEOUT = 2
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = False
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SOFT_TIME_LIMIT = 60
CELERY_TASK_TIME_LIMIT = 90
CELERY_TASK_SEND_SENT_EVENT = True
CELERY_WORKER_SEND_TASK_EVENTS = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_WORKER_MAX_TASKS_PER_CHILD = 1000
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 300_000
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 25
CELERY_WORKER_ETA_TASK_LIMIT = 100
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_DB_REUSE_MAX = 1000  # tasks; otherwise Celery reconnects to the database around each one
CELERY_TASK_DEFAULT_QUEUE = Lane.CONTROL.value
CELERY_TASK_CREATE_MISSING_QUEUES = True
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"
CELERY_BEAT_MAX_LOOP_INTERVAL = 1

redactor.learn(
    [SECRET_KEY, ADDRESS_KEY.decode(), *CREDENTIAL_KEYS]
    + [DATABASES["default"].get("PASSWORD") or "", *passwords_in(CELERY_BROKER_URL)]
    + [login.partition(":")[2] for login in env.words("FLOWER_BASIC_AUTH", default=[])]
)
LOGGING = logging_settings(env.level("LOG_LEVEL"), as_json=env.bool("LOG_JSON", default=False))
SENTRY_DSN = env.dsn("SENTRY_DSN")
SEND_TRANSPORT = env.choice("SEND_TRANSPORT", TRANSPORTS)
WEBHOOKS = ForeignRules(
    networks=env.networks("WEBHOOK_NETWORKS"),
    allows_http=env.bool("WEBHOOK_HTTP", default=False),
    ports=env.ports("WEBHOOK_PORTS", default=[443, 8443]),
)

env.seal()  # here a process ends that lacks a variable, and names them all
if SENTRY_DSN:
    sentry.start(SENTRY_DSN)
