// How a kernel describes itself: fields() lists the members that make it what it is, under the
// names that cases of `predict` and columns of datasets have. Whoever reads, writes or tells apart
// kernels goes over them with for_each_field() and knows no kind by name. Kernels with rules of
// their own (GEMM, attention, experts) have no fields() and are read by functions of their own.
#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>

namespace foretoken {

/// A field as cases and datasets call it. Whole numbers are sizes, from 1 up; the first says how
/// many rows there are.
template <class Kind, class Member>
struct KernelField {
  std::string_view name;
  Member Kind::*member;
};
template <class Kind, class Member>
KernelField(const char*, Member Kind::*) -> KernelField<Kind, Member>;

template <class Kind>
constexpr auto row_fields() {
  return std::tuple(KernelField{"tokens", &Kind::tokens}, KernelField{"dim", &Kind::dim},
                    KernelField{"dtype", &Kind::dtype});
}
template <class Kind>
constexpr auto head_fields() {
  return std::tuple(KernelField{"tokens", &Kind::tokens}, KernelField{"heads", &Kind::heads},
                    KernelField{"head_dim", &Kind::head_dim}, KernelField{"dtype", &Kind::dtype});
}

/// A kernel that fields() describes.
template <class Kind>
concept DescribedKernel = requires {
  Kind::fields();
};

/// Calls `see(name, field)` for each field of a kernel of a described kind.
template <class DescribedKind, class See>
constexpr void for_each_field(DescribedKind& kernel, const See& see) {
  std::apply([&](const auto&... field) { (see(field.name, kernel.*(field.member)), ...); },
             std::remove_const_t<DescribedKind>::fields());
}

}  // namespace foretoken
