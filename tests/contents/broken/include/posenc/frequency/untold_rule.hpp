namespace posenc { inline namespace POSENC_TARGET {
namespace detail {
inline frequencies hidden_rule(double x);
}  // namespace detail
[[gnu::noinline]] inline frequencies untold_rule(double x);
}}  // namespace posenc
