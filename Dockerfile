# SPDX-License-Identifier: Apache-2.0
# docker build -t steelyard . && docker run --rm -v steelyard:/sessions steelyard
# What a container refuses to measure, and with which options it does not: docs/how-to/run-in-a-container.md.
ARG DEBIAN=trixie

FROM debian:${DEBIAN}-slim AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        ca-certificates cargo default-jdk-headless g++ gcc golang-go libc6-dev make nodejs python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY CMakeLists.txt LICENSE README.md pyproject.toml ./
COPY engines engines
COPY packaging packaging
COPY probes probes
COPY src src
RUN python3 -m venv /opt/steelyard && /opt/steelyard/bin/pip install --no-cache-dir '.[mechanisms,report,sql,statistics]'

FROM debian:${DEBIAN}-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends default-jre-headless libstdc++6 nodejs python3 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home person \
    && install --directory --owner=person /sessions
COPY --from=build /opt/steelyard /opt/steelyard
ENV PATH=/opt/steelyard/bin:$PATH STEELYARD_SESSIONS=/sessions
USER person
WORKDIR /home/person
VOLUME /sessions
ENTRYPOINT ["steelyard"]
CMD ["run"]
