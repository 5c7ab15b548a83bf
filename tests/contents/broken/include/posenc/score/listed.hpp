namespace posenc { inline namespace POSENC_TARGET {
struct lawful {};
struct lawless {};
static_assert(acts_on_scores<lawful> && acts_on_scores<lawless>);
inline lawful made_lawful() { return {}; }
static_assert(acts_on_softmax<decltype(made_lawful())>);
struct misplaced {};
static_assert(acts_on_scores<misplaced>);
struct drain {};
static_assert(adds_sink<drain>);
}}  // namespace posenc
