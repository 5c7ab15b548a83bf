namespace posenc { inline namespace POSENC_TARGET { namespace detail {
struct hidden {};
struct first {};
template <class A, class B>
struct some : first {};
struct second : some<first, second> {};
struct third : second, std::array<first, 2> {};

}}}  // namespace posenc::detail
