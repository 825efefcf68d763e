# syntax=docker/dockerfile:1
# One image for all processes; the command chooses which: broker gateway (default), vending gateway or workers.

FROM node:20-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
RUN node scripts/build.mjs

FROM node:20-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# The optional packages are the embedded PostgreSQL of `npm start` and builds for other platforms.
RUN npm ci --omit=dev --omit=optional --no-audit --no-fund

FROM node:20-bookworm-slim
ENV NODE_ENV=production NODE_OPTIONS=--enable-source-maps
# git: deployments clone the repository they run.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates git \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json package-lock.json LICENSE ./
# What the service keeps on disk: the enrollment CA and the base configs of the roles.
RUN install -d -o node -g node -m 0700 /var/lib/svc-reg /var/lib/svc-reg/ca /var/lib/svc-reg/configs
USER node
EXPOSE 8081 8000
ENV HEALTH_URL=http://127.0.0.1:8081/readyz
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["node", "-e", "fetch(process.env.HEALTH_URL).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/api/broker/main.js"]
