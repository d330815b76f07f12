"""App memory over HTTP: the specification's admin API, and further routes under ``/api/v1``."""
