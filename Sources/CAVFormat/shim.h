#pragma once

#include <libavformat/avformat.h>
#include <libavcodec/avcodec.h>

// Function-like macros are not imported into Swift.
static const int segue_averror_eof = AVERROR_EOF;
static const int segue_averror_eperm = AVERROR(EPERM);
static const int segue_averror_enomem = AVERROR(ENOMEM);
