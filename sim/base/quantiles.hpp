// Quantiles of distributions that more than one room asks for. Boost.Math's, which are compiled
// here alone: they are long templates.
#pragma once

namespace foretoken {

/// What a normal value falls below with `probability`, which lies between 0 and 1.
double normal_quantile(double probability, double mean = 0, double deviation = 1);

/// The same of Student's t with so many degrees of freedom (1 or more).
double students_t_quantile(double probability, double degrees);

}  // namespace foretoken
