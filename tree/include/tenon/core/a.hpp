// A.
#pragma once
