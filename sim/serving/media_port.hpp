// What a replica says of images that others have encoded for it (encode_handoff.hpp).
#pragma once

#include "sim/base/ids.hpp"

namespace foretoken {

class MediaPort {
 public:
  virtual ~MediaPort() = default;
  /// The replica has taken the request and needs what its images were encoded to. It is to be
  /// brought: Replica::receive_media().
  virtual void on_awaiting_media(ReplicaId replica, RequestId request) = 0;
};

}  // namespace foretoken
