# syntax=docker/dockerfile:1

# The image of the operator: one static binary, no shell, no root.
#
#   docker build -t fairlead --build-arg VERSION=v0.1.0 --build-arg COMMIT=$(git rev-parse HEAD) .

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src

# Modules in a layer of their own: editing code downloads nothing.
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod \
    go mod download

COPY api/ api/
COPY certs/ certs/
COPY cmd/ cmd/
COPY config/ config/
COPY controllers/ controllers/
COPY internal/ internal/
COPY webhooks/ webhooks/

# Declared as late as they can be, since a changed argument invalidates every layer below it.
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
ARG COMMIT=
RUN --mount=type=cache,target=/go/pkg/mod \
    --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags="-s -w -X github.com/fairlead-dev/fairlead/cmd/fairlead/version.Version=$VERSION -X github.com/fairlead-dev/fairlead/cmd/fairlead/version.Commit=$COMMIT" -o /fairlead ./cmd/fairlead

# Nothing else is needed: time zones and the certificates of public authorities are in the binary, and it
# writes no file. See docs/decisions.
FROM scratch
ARG VERSION=dev
ARG COMMIT=
LABEL org.opencontainers.image.title="fairlead" \
      org.opencontainers.image.description="Kubernetes operator for external services, safe restarts and pod chaos" \
      org.opencontainers.image.source="https://github.com/fairlead-dev/fairlead" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$COMMIT"
COPY --from=build /fairlead /fairlead
# By number: a name cannot be checked against runAsNonRoot.
USER 65532:65532
ENTRYPOINT ["/fairlead"]
CMD ["manager"]
