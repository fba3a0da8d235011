// [engine.kv_store] among the tables; engine.cpp reads it.
#include "sim/scenario/tables.hpp"
#include "sim/serving/settings/kv_store_settings.hpp"

namespace foretoken {

KeyTable kv_store_key_table() {
  return {"engine.kv_store", "",
          "A disk or remote store for prefixes that leave GPU and host memory.",
          kv_store_keys().notes()};
}

}  // namespace foretoken
