#pragma once

#include <nats/nats.h>
#include <string.h>

/// A JetStream context whose calls wait for so long at most, in milliseconds.
static inline natsStatus segue_nats_jetstream(jsCtx **context, natsConnection *connection, int64_t wait) {
    jsOptions options;
    jsOptions_Init(&options);
    options.Wait = wait;
    return natsConnection_JetStream(context, connection, &options);
}

/// The bucket, made where there is none. TTL in milliseconds; 0: for ever.
static inline natsStatus segue_nats_bucket(kvStore **store, jsCtx *context, const char *name, int64_t ttl, int replicas) {
    natsStatus status = js_KeyValue(store, context, name);
    if (status == NATS_OK || status == NATS_TIMEOUT || status == NATS_CONNECTION_CLOSED || status == NATS_CONNECTION_DISCONNECTED) return status;
    kvConfig configuration;
    kvConfig_Init(&configuration);
    configuration.Bucket = name;
    configuration.History = 1;
    configuration.TTL = ttl * 1000000;
    configuration.Replicas = replicas;
    status = js_CreateKeyValue(store, context, &configuration);
    // Another node may have been faster.
    if (status != NATS_OK) status = js_KeyValue(store, context, name);
    return status;
}
