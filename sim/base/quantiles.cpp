#include "sim/base/quantiles.hpp"

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

namespace foretoken {

double normal_quantile(double probability, double mean, double deviation) {
  return boost::math::quantile(boost::math::normal(mean, deviation), probability);
}

double students_t_quantile(double probability, double degrees) {
  return boost::math::quantile(boost::math::students_t(degrees), probability);
}

}  // namespace foretoken
