namespace posenc::inline POSENC_TARGET {
struct parser {};
}  // namespace posenc
