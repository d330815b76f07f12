"""Prometheus metrics, one file for each memory; :mod:`commonplace.web.http.monitoring` collects them.

Metrics of a database are gauges with the same value in every process. Counters (``_total``) and request times count
from the start of this process. No metric has apps, users or tenants as labels.
"""
