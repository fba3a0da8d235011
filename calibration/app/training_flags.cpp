#include "calibration/app/training_flags.hpp"

#include <memory>

namespace foretoken {

template <class Part, class Value>
void TrainingFlags::add(CLI::App& command, const std::string& flag, Part FamilyTraining::*part,
                        Value Part::*member, const std::string& description) {
  auto value = std::make_shared<Value>();
  const CLI::Option* option = command.add_option(flag, *value, description)->delimiter(',');
  given_.push_back([=](FamilyTraining& training) {
    if (option->count() > 0) training.*part.*member = *value;
  });
}

void TrainingFlags::add_to(CLI::App& command) {
  command.add_option("--recipes", recipes_path_,
                     "Settings by family (default: those the shipped networks were trained with)");
  const auto network = &FamilyTraining::network;
  const auto rows = &FamilyTraining::rows;
  add(command, "--widths", network, &TrainOptions::widths, "Hidden layers");
  add(command, "--members", network, &TrainOptions::members, "Networks in the ensemble");
  add(command, "--epochs", network, &TrainOptions::epochs, "Maximum epochs");
  add(command, "--batch", network, &TrainOptions::batch, "Rows per step");
  add(command, "--learning-rate", network, &TrainOptions::learning_rate, "Initial learning rate");
  add(command, "--weight-decay", network, &TrainOptions::weight_decay, "Weight decay of AdamW");
  add(command, "--dropout", network, &TrainOptions::dropout, "Share of units dropped in training");
  add(command, "--batch-norm", network, &TrainOptions::batch_norm, "Normalize after each layer");
  add(command, "--seed", network, &TrainOptions::seed,
      "Seed of initial weights, batches and validation layouts");
  add(command, "--rows", rows, &RowChoice::rows_max_per_group,
      "Maximum rows per GPU and source; 0 = all");
  add(command, "--without-gpu", rows, &RowChoice::without_gpus,
      "Exclude this GPU's measurements; repeatable");
}

void TrainingFlags::apply(FamilyTraining& training) const {
  for (const auto& change : given_) change(training);
}

}  // namespace foretoken
