# One stamp per header, or chain of headers, made anew when anything that it includes has changed. Used by alone.sh.
# Without zlib and without -march: the variants that no other test compiles.
CXXFLAGS := -std=c++20 -Wall -Wextra -Werror -fsyntax-only $(if $(findstring clang,$(CXX)),-ferror-limit,-fmax-errors)=1
headers := $(shell cd $(include) && find tenon -name '*.hpp' | sort)
headers := $(filter-out $(internal:%=tenon/%/%) $(without:%=tenon/%.hpp),$(headers))
stamps := $(headers:%.hpp=%.ok)
# A second target, backend/FOLDER/target.hpp: its headers are there with -DTENON_TARGET=FOLDER.
second := $(notdir $(patsubst %/target.hpp,%,$(wildcard $(include)/tenon/backend/*/target.hpp)))
target = $(foreach folder,$(second),$(if $(filter backend/$(folder)/%,$*),-DTENON_TARGET=$(folder)))

# This one is a part of programs that can be observed alone.
observed = $(if $(filter debug/dump,$*),-DTENON_OBSERVE)

# CUDA's own header is replaced by that of the emulator; g++ does not know #pragma unroll.
cuda = $(if $(findstring backend/cuda/,$@),-I$(include)/../tests/support/cuda -Wno-unknown-pragmas)

# A chain (bases.mk): for each of these headers, those in front of it hide nothing, and one unit shows them all.
chain = $(chain.$*) $*

# What a header includes may as well be there before it, parsed once for many: bases.mk (of alone.sh) says
# `base.NAME := BASE` for those that include a base somewhere.
-include bases.mk
# debug/debug.hpp goes in front of all others, so its room has none of them. (strip: of several second targets, none of
# which it is, foreach leaves spaces.)
base = $(if $(strip $(target)$(filter debug/%,$*)),,$(base.$*))
stamps := $(filter-out $(behind:%=tenon/%.ok),$(stamps))
all: $(stamps)
with_base := $(filter-out debug/%,$(stamps:tenon/%.ok=%))
$(foreach name,$(with_base),$(if $(base.$(name)),$(eval tenon/$(name).ok: base/$(base.$(name)).hpp.gch)))

base/%.hpp.gch: $(include)/tenon/%.hpp
	@mkdir -p $(@D)
	@printf '#include <tenon/%s>\n' $*.hpp >$(@:.gch=)
	@$(CXX) $(filter-out -fsyntax-only,$(CXXFLAGS)) -I$(include) -MMD -MP -MF $(@:.gch=.d) -MT $@ -x c++-header \
	  $(@:.gch=) -o $@

# A pattern with a slash: without one, make would cut the folder off and look for the header elsewhere.
tenon/%.ok: $(include)/tenon/%.hpp
	@mkdir -p $(@D)
	@printf '#include <tenon/%s.hpp>\n' $(chain) $(chain) >$(@:.ok=.cpp)
	@$(CXX) $(CXXFLAGS) $(target) $(observed) -I$(include) $(cuda) $(base:%=-Winvalid-pch -include base/%.hpp) \
	  -MMD -MP -MF $(@:.ok=.d) -MT $@ \
	  $(@:.ok=.cpp) || \
	  { echo "FAILED, each after those before it: $(chain)"; exit 1; }
	@printf '%s\n' $(chain) >$@

-include $(stamps:.ok=.d) $(shell find base -name "*.d" 2>/dev/null)
.PHONY: all
