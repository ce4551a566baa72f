# A container file: repackbench and git. Untested: nobody has built it yet.
#
#   docker build --tag repackbench .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/repository:ro" repackbench estimate /repository
#
# The second command runs as the owner of the repository, because git refuses repositories of other users.

FROM rust:1-bookworm AS build
WORKDIR /source
# The packages of the workspace. rust-toolchain.toml is left out, so that the compiler is that of the image.
COPY Cargo.toml Cargo.lock LICENSE-APACHE LICENSE-MIT ./
COPY benches benches
COPY crates crates
COPY integrations integrations
COPY xtask xtask
RUN cargo install --locked --path crates/cli --root /opt/repackbench
RUN cargo run --quiet --locked --package xtask -- licences > THIRD-PARTY-LICENSES

FROM debian:stable-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /source/LICENSE-APACHE /source/LICENSE-MIT /source/THIRD-PARTY-LICENSES \
    /usr/local/share/doc/repackbench/
COPY --from=build /opt/repackbench/bin/repackbench /usr/local/bin/repackbench
RUN useradd --create-home repackbench
# Any user can write here, so that --user works. Variants, and the library that `exec` preloads, are below the cache.
ENV HOME=/tmp/home XDG_CACHE_HOME=/tmp/home/.cache
RUN mkdir --parents /tmp/home/.cache && chmod -R 1777 /tmp/home
USER repackbench
WORKDIR /tmp/home
ENTRYPOINT ["repackbench"]
CMD ["--help"]
