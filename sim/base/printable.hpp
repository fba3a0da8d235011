// Text for a terminal that a user's file may have a part in: names, titles, messages. A control
// character in it could move the cursor, rename the window or hide what follows; here it is shown
// as a mark. The last step before printing: tables before it count columns.
#pragma once

#include <string>
#include <string_view>

namespace foretoken {

enum class Colours { removed, kept };

/// `text` with every control character but line ends and tabs, every byte that is no UTF-8 and
/// every character that turns the direction of writing replaced by U+FFFD. `kept`: the colours that
/// tables are printed in stay.
std::string printable(std::string_view text, Colours colours = Colours::removed);

}  // namespace foretoken
