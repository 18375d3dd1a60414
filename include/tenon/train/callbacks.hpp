// Every callback, and checkpoints of whole trainings. tenon.hpp has only LossMonitor, TimeMonitor, and ProgressBar, so
// that programs without the other callbacks do not compile them.
#pragma once
#include <tenon/train/callback/any_callback.hpp>
#include <tenon/train/callback/early_stopping.hpp>
#include <tenon/train/callback/history.hpp>
#include <tenon/train/callback/lambda_callback.hpp>
#include <tenon/train/callback/learning_rate_scheduler.hpp>
#include <tenon/train/callback/loss_monitor.hpp>
#include <tenon/train/callback/model_checkpoint.hpp>
#include <tenon/train/callback/progress_bar.hpp>
#include <tenon/train/callback/reduce_lr_on_plateau.hpp>
#include <tenon/train/callback/save_best.hpp>
#include <tenon/train/callback/stop_at_loss.hpp>
#include <tenon/train/callback/stop_at_time.hpp>
#include <tenon/train/callback/time_monitor.hpp>
#include <tenon/train/callback/weight_average.hpp>
#include <tenon/train/training_file.hpp>
