#pragma once

/// Whether a sanitizer instruments memory: it holds memory of its own, and kernels take four times
/// as long to compile.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define POSENC_TEST_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define POSENC_TEST_SANITIZED
#endif

inline constexpr bool is_sanitized =
#if defined(POSENC_TEST_SANITIZED)
    true;
#else
    false;
#endif
