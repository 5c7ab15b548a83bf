namespace posenc { inline namespace POSENC_TARGET {
struct untested {};
static_assert(acts_on_softmax<untested>);
}}  // namespace posenc
