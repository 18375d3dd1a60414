// Networks that share their parameters: a training form and a sampling form of one model.
#pragma once
#include <tenon/nn/parameters.hpp>

namespace tenon::inline TENON_ABI {

/// Gives a network the parameters of another one instead of its own: from now on both read and train the same values.
///
///     Gpt<Train> net;
///     Gpt<Sample> sampler;
///     share_parameters(net, sampler);
///
/// `second` must have the members of `first`, or of its beginning, with the same names, types, and order; nn::Frozen
/// makes no difference, so one network may train parameters that the other network does not train. Settings (the rate
/// of a dropout) and the flag of set_train() are shared; the flags of requires_grad() are not, except for batch norms:
/// after requires_grad(false) of one network they keep their statistics in both. clone() makes a network with separate
/// parameters. Both are whole networks: the parameters of a network lie together, so that a part of a larger one cannot
/// have its own elsewhere.
///
/// throws   KeyError for a parameter that the first network does not have, ValueError for another shape, dtype, or
///          order; then nothing has changed. A network of which a part was shared alone, or was assigned since, throws
///          RuntimeError where it is used next, because the sharing would end
template <AnyCell First, AnyCell Second>
void share_parameters(const First& first, const Second& second) {
  const ParameterList from(first);
  from.bind();
  ParameterList(second).share(from);
}

}  // namespace tenon
