# The service without the checkout: docker build -t commonplace .
FROM python:3.11-slim AS build
WORKDIR /src
COPY . .
RUN python -m venv /opt/commonplace \
    && pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
    && /opt/commonplace/bin/pip install --no-cache-dir --constraint constraints.txt /wheels/*.whl

FROM python:3.11-slim
RUN useradd --uid 10001 --create-home commonplace \
    && install --directory --owner commonplace --mode 0700 /data /workspace
COPY --from=build /opt/commonplace /opt/commonplace
ENV PATH=/opt/commonplace/bin:$PATH \
    COMMONPLACE_HOME=/data \
    COMMONPLACE_WORKSPACE=/workspace
USER commonplace
WORKDIR /workspace
VOLUME ["/data", "/workspace"]
EXPOSE 8420
# 503 makes urlopen raise, and the status 1.
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8420/healthz', timeout=9)"]
# Requests from outside need a token: docker exec CONTAINER commonplace token create --role admin
CMD ["commonplace", "serve", "--host", "0.0.0.0"]
