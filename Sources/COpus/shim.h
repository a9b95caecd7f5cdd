#pragma once

#include <opus/opus.h>

// Opus sets and asks by variadic calls with a request and a value behind macros, neither of which Swift imports: one function for each that is used.

static inline int segue_opus_set_bitrate(OpusEncoder *encoder, opus_int32 bits_per_second) {
    return opus_encoder_ctl(encoder, OPUS_SET_BITRATE(bits_per_second));
}

static inline int segue_opus_set_max_bandwidth(OpusEncoder *encoder, opus_int32 bandwidth) {
    return opus_encoder_ctl(encoder, OPUS_SET_MAX_BANDWIDTH(bandwidth));
}

static inline int segue_opus_set_force_channels(OpusEncoder *encoder, opus_int32 channels) {
    return opus_encoder_ctl(encoder, OPUS_SET_FORCE_CHANNELS(channels));
}

static inline int segue_opus_set_complexity(OpusEncoder *encoder, opus_int32 complexity) {
    return opus_encoder_ctl(encoder, OPUS_SET_COMPLEXITY(complexity));
}

static inline int segue_opus_set_inband_fec(OpusEncoder *encoder, opus_int32 on) { return opus_encoder_ctl(encoder, OPUS_SET_INBAND_FEC(on)); }

static inline int segue_opus_set_packet_loss(OpusEncoder *encoder, opus_int32 percent) {
    return opus_encoder_ctl(encoder, OPUS_SET_PACKET_LOSS_PERC(percent));
}

static inline int segue_opus_set_dtx(OpusEncoder *encoder, opus_int32 on) { return opus_encoder_ctl(encoder, OPUS_SET_DTX(on)); }

static inline int segue_opus_set_vbr(OpusEncoder *encoder, opus_int32 on) { return opus_encoder_ctl(encoder, OPUS_SET_VBR(on)); }

static inline int segue_opus_set_signal(OpusEncoder *encoder, opus_int32 signal) { return opus_encoder_ctl(encoder, OPUS_SET_SIGNAL(signal)); }

static inline int segue_opus_set_prediction_disabled(OpusEncoder *encoder, opus_int32 on) {
    return opus_encoder_ctl(encoder, OPUS_SET_PREDICTION_DISABLED(on));
}

static inline int segue_opus_lookahead(OpusEncoder *encoder, opus_int32 *samples) {
    return opus_encoder_ctl(encoder, OPUS_GET_LOOKAHEAD(samples));
}

static inline int segue_opus_reset_encoder(OpusEncoder *encoder) { return opus_encoder_ctl(encoder, OPUS_RESET_STATE); }

static inline int segue_opus_reset_decoder(OpusDecoder *decoder) { return opus_decoder_ctl(decoder, OPUS_RESET_STATE); }

static inline int segue_opus_last_packet_duration(OpusDecoder *decoder, opus_int32 *samples) {
    return opus_decoder_ctl(decoder, OPUS_GET_LAST_PACKET_DURATION(samples));
}
