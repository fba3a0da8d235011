// The one place that decides how many digits a published number has. Results must not change with
// another CPU's math library, so every figure in a machine-readable output passes through here.
#pragma once

namespace foretoken {

/// `value` to nine significant digits: far below any effect a simulation can claim, and a million
/// times above the last bits of a double. Zero is never negative. `value` must be finite.
double rounded(double value);

}  // namespace foretoken
