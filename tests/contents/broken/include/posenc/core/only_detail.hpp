namespace posenc::inline POSENC_TARGET::detail {
struct hidden {};
}  // namespace posenc::detail
