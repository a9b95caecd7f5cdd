# The relay as a container: built with the Swift image, run without it. The state folder and the configuration are mounts.
#
#   docker build --tag segue .
#   docker run --publish 8443:8443 --volume segue-state:/var/lib/segue --volume ./etc:/etc/segue:ro segue
FROM swift:6.3-bookworm AS build
WORKDIR /source
# Packages first: they change less often than the sources.
COPY Deploy/install Deploy/install
RUN apt-get update && Deploy/install build
COPY Package.swift .
COPY Sources Sources
COPY Tests Tests
RUN swift build --configuration release --product segue --static-swift-stdlib

FROM debian:bookworm-slim
# The libraries of what `Deploy/install build` installs for development.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libssl3 libnghttp2-14 libopus0 libspeexdsp1 zlib1g libnats3.4 libavformat59 libavcodec59 libavutil57 ca-certificates curl \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/segue --create-home --shell /usr/sbin/nologin segue
COPY --from=build /source/.build/release/segue /usr/local/bin/segue
COPY Deploy/container.json5 /etc/segue/segue.json5
USER 10001
EXPOSE 8443
VOLUME /var/lib/segue
# SIGTERM drains for up to a minute: docker stop --time 75.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["curl", "--silent", "--fail", "--insecure", "https://127.0.0.1:8443/healthz"]
ENTRYPOINT ["/usr/local/bin/segue"]
CMD ["serve", "--config", "/etc/segue/segue.json5", "--log", "json"]
