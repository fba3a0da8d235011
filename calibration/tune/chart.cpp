#include "calibration/tune/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/error.hpp"
#ifdef FORETOKEN_HAS_CAIRO
#include <cairo.h>
#endif

namespace foretoken::tune {

#ifndef FORETOKEN_HAS_CAIRO

bool can_draw() { return false; }
std::string png_of(const Chart&) {
  FORETOKEN_CHECK(can_draw(), "charts need libcairo2-dev when the program is built");
  return {};
}

#else

namespace {

constexpr double width = 1000, height = 600;
constexpr double left = 80, right = 270, top = 70, bottom = 60;

struct Color {
  double red, green, blue;
};
// Okabe and Ito's palette, told apart with colour-blind eyes; then greys.
constexpr std::array<Color, 8> colors{{{0.00, 0.45, 0.70},
                                       {0.84, 0.37, 0.00},
                                       {0.00, 0.62, 0.45},
                                       {0.80, 0.47, 0.65},
                                       {0.90, 0.62, 0.00},
                                       {0.34, 0.71, 0.91},
                                       {0.25, 0.25, 0.25},
                                       {0.60, 0.60, 0.60}}};

/// Round steps of 1, 2 or 5 times a power of ten, about `wanted` of them.
std::vector<double> ticks(double low, double high, int wanted) {
  const double raw = (high - low) / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> found;
  for (double tick = std::ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) {
    found.push_back(std::abs(tick) < step * 1e-9 ? 0 : tick);
  }
  return found;
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart)
      : chart_(&chart),
        surface_(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width),
                                            static_cast<int>(height))),
        cairo_(cairo_create(surface_)) {
    find_ranges();
  }
  ~Drawing() {
    cairo_destroy(cairo_);
    cairo_surface_destroy(surface_);
  }
  Drawing(const Drawing&) = delete;
  Drawing& operator=(const Drawing&) = delete;

  void draw() {
    cairo_set_source_rgb(cairo_, 1, 1, 1);
    cairo_paint(cairo_);
    cairo_select_font_face(cairo_, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    axes();
    for (std::size_t i = 0; i < chart_->curves.size(); ++i) band(chart_->curves[i], i);
    for (std::size_t i = 0; i < chart_->curves.size(); ++i) line(chart_->curves[i], i);
    legend();
  }
  std::string png() {
    std::string bytes;
    const auto add = [](void* all, const unsigned char* data, unsigned int size) {
      static_cast<std::string*>(all)->append(reinterpret_cast<const char*>(data), size);
      return CAIRO_STATUS_SUCCESS;
    };
    const cairo_status_t status = cairo_surface_write_to_png_stream(surface_, add, &bytes);
    FORETOKEN_CHECK(status == CAIRO_STATUS_SUCCESS, "cairo: {}", cairo_status_to_string(status));
    return bytes;
  }

 private:
  [[nodiscard]] double scaled(double y) const {
    return chart_->is_logarithmic ? std::log10(std::max(y, 1e-12)) : y;
  }
  void find_ranges() {
    bool first = true;
    for (const Curve& curve : chart_->curves) {
      for (const auto* values : {&curve.y, &curve.low, &curve.high}) {
        for (const double y : *values) {
          y_low_ = first ? scaled(y) : std::min(y_low_, scaled(y));
          y_high_ = first ? scaled(y) : std::max(y_high_, scaled(y));
          first = false;
        }
      }
      for (const double x : curve.x) {
        x_low_ = std::min(x_low_, x);
        x_high_ = std::max(x_high_, x);
      }
    }
    if (y_high_ <= y_low_) y_high_ = y_low_ + 1;
    const double margin = 0.04 * (y_high_ - y_low_);
    y_low_ -= margin;
    y_high_ += margin;
  }
  [[nodiscard]] double px(double x) const {
    return left + (x - x_low_) / (x_high_ - x_low_) * (width - left - right);
  }
  [[nodiscard]] double py(double y) const {
    return height - bottom - (scaled(y) - y_low_) / (y_high_ - y_low_) * (height - top - bottom);
  }
  void color(std::size_t i, double alpha) {
    const Color& c = colors[i % colors.size()];
    cairo_set_source_rgba(cairo_, c.red, c.green, c.blue, alpha);
  }
  void text(double x, double y, const std::string& what, double size, double align) {
    cairo_set_font_size(cairo_, size);
    cairo_text_extents_t extents;
    cairo_text_extents(cairo_, what.c_str(), &extents);
    cairo_move_to(cairo_, x - align * extents.x_advance, y);
    cairo_show_text(cairo_, what.c_str());
  }
  void axes() {
    cairo_set_line_width(cairo_, 1);
    for (const double tick : ticks(x_low_, x_high_, 8)) {
      cairo_set_source_rgb(cairo_, 0.1, 0.1, 0.1);
      text(px(tick), height - bottom + 20, fmt::format("{:g}", tick), 12, 0.5);
    }
    for (const double tick : ticks(y_low_, y_high_, 7)) {
      const double value = chart_->is_logarithmic ? std::pow(10.0, tick) : tick;
      cairo_set_source_rgb(cairo_, 0.9, 0.9, 0.9);
      cairo_move_to(cairo_, left, py(value));
      cairo_line_to(cairo_, width - right, py(value));
      cairo_stroke(cairo_);
      cairo_set_source_rgb(cairo_, 0.1, 0.1, 0.1);
      text(left - 8, py(value) + 4, fmt::format("{:.3g}", value), 12, 1);
    }
    cairo_set_source_rgb(cairo_, 0.1, 0.1, 0.1);
    cairo_move_to(cairo_, left, top);
    cairo_line_to(cairo_, left, height - bottom);
    cairo_line_to(cairo_, width - right, height - bottom);
    cairo_stroke(cairo_);
    text(left, 28, chart_->title, 16, 0);
    cairo_set_source_rgb(cairo_, 0.4, 0.4, 0.4);
    text(left, 50, chart_->subtitle, 12, 0);
    cairo_set_source_rgb(cairo_, 0.1, 0.1, 0.1);
    text((left + width - right) / 2, height - 15, chart_->x_label, 13, 0.5);
    cairo_save(cairo_);
    cairo_translate(cairo_, 22, (top + height - bottom) / 2);
    cairo_rotate(cairo_, -1.5707963267948966);
    text(0, 0, chart_->y_label, 13, 0.5);
    cairo_restore(cairo_);
  }
  void band(const Curve& curve, std::size_t i) {
    if (curve.low.empty()) return;
    cairo_new_path(cairo_);
    for (std::size_t k = 0; k < curve.x.size(); ++k)
      cairo_line_to(cairo_, px(curve.x[k]), py(curve.high[k]));
    for (std::size_t k = curve.x.size(); k-- > 0;)
      cairo_line_to(cairo_, px(curve.x[k]), py(curve.low[k]));
    cairo_close_path(cairo_);
    color(i, 0.2);
    cairo_fill(cairo_);
  }
  void line(const Curve& curve, std::size_t i) {
    cairo_new_path(cairo_);
    for (std::size_t k = 0; k < curve.x.size(); ++k)
      cairo_line_to(cairo_, px(curve.x[k]), py(curve.y[k]));
    color(i, 1);
    dash(i);
    cairo_set_line_width(cairo_, 2);
    cairo_stroke(cairo_);
    cairo_set_dash(cairo_, nullptr, 0, 0);
  }
  /// The palette again, dashed.
  void dash(std::size_t i) {
    constexpr std::array<double, 2> dashes{6, 4};
    cairo_set_dash(cairo_, dashes.data(), i >= colors.size() ? 2 : 0, 0);
  }
  void legend() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < chart_->curves.size(); ++i) order.push_back(i);
    const auto last = [&](std::size_t i) {
      return chart_->curves[i].y.empty() ? 0 : chart_->curves[i].y.back();
    };
    std::ranges::stable_sort(order, std::ranges::greater{}, last);
    double y = top + 10;
    for (const std::size_t i : order) {
      color(i, 1);
      dash(i);
      cairo_set_line_width(cairo_, 3);
      cairo_move_to(cairo_, width - right + 15, y - 4);
      cairo_line_to(cairo_, width - right + 45, y - 4);
      cairo_stroke(cairo_);
      cairo_set_dash(cairo_, nullptr, 0, 0);
      cairo_set_source_rgb(cairo_, 0.1, 0.1, 0.1);
      text(width - right + 52, y, chart_->curves[i].name, 12, 0);
      text(width - 12, y, fmt::format("{:#.3g}", last(i)), 12, 1);
      y += 20;
    }
  }

  const Chart* chart_;
  cairo_surface_t* surface_;
  cairo_t* cairo_;
  double x_low_ = 0, x_high_ = 1, y_low_ = 0, y_high_ = 0;
};

}  // namespace

bool can_draw() { return true; }

std::string png_of(const Chart& chart) {
  Drawing drawing(chart);
  drawing.draw();
  return drawing.png();
}

#endif

}  // namespace foretoken::tune
