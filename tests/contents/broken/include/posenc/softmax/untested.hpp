namespace posenc::inline POSENC_TARGET {
struct untested {};
static_assert(acts_on_softmax<untested>);
}  // namespace posenc
