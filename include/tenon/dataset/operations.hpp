// Operations on data sets that tenon.hpp does not have: samplers, shards, filter, zip, split, streams, and others.
#pragma once
// First what reports mistakes, as in tenon.hpp.
#include <tenon/dataset/stage/stage.hpp>
// The operations:
#include <tenon/dataset/batch/batch_of_size.hpp>
#include <tenon/dataset/batch/bucket_batch_by_length.hpp>
#include <tenon/dataset/batch/map_batch.hpp>
#include <tenon/dataset/batch/pad.hpp>
#include <tenon/dataset/describe.hpp>
#include <tenon/dataset/facts.hpp>
#include <tenon/dataset/operation/apply.hpp>
#include <tenon/dataset/operation/concat.hpp>
#include <tenon/dataset/operation/filter.hpp>
#include <tenon/dataset/operation/flat_map.hpp>
#include <tenon/dataset/operation/project.hpp>
#include <tenon/dataset/operation/rename.hpp>
#include <tenon/dataset/operation/skip.hpp>
#include <tenon/dataset/operation/split.hpp>
#include <tenon/dataset/operation/zip.hpp>
#include <tenon/dataset/sampler/distributed_sampler.hpp>
#include <tenon/dataset/sampler/pk_sampler.hpp>
#include <tenon/dataset/sampler/random_sampler.hpp>
#include <tenon/dataset/sampler/sample.hpp>
#include <tenon/dataset/sampler/sequential_sampler.hpp>
#include <tenon/dataset/sampler/shard.hpp>
#include <tenon/dataset/sampler/subset_random_sampler.hpp>
#include <tenon/dataset/sampler/subset_sampler.hpp>
#include <tenon/dataset/sampler/weighted_random_sampler.hpp>
#include <tenon/dataset/source/generator.hpp>
#include <tenon/dataset/source/stream.hpp>
