namespace posenc { inline namespace POSENC_TARGET {
struct parser {};
}}  // namespace posenc
