// Fits the constants of the wave model (kernels/estimators/wave_laws.hpp).
#pragma once

#include "calibration/evaluate/family_rows.hpp"
#include "kernels/estimators/wave_laws.hpp"

namespace foretoken {

/// Laws of a table that holds kernels, from `rows`: of the family, of each framework and source
/// with enough rows, and of those on each GPU, which are held to the law of all GPUs as long as
/// their rows are few. Least absolute relative error, no constant below 0. Rows that have no
/// decomposition are passed over. Errors stay 0.
WaveLaws::Laws fit_wave_laws(const FamilyTable& table, const Rows& rows);

/// The same with errors: of a GPU's law on `held_out`, of laws of all GPUs on each GPU left out.
WaveLaws::Laws fit_judged_wave_laws(const FamilyTable& table, const Rows& rows,
                                    const Rows& held_out);

}  // namespace foretoken
