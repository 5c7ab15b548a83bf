namespace posenc { inline namespace POSENC_TARGET { namespace detail {
struct hidden {};
}}}  // namespace posenc::detail
