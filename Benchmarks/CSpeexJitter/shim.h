#pragma once

// libspeexdsp's jitter buffer, which this project compares its own with and uses nowhere else.
#include <speex/speex_jitter.h>
