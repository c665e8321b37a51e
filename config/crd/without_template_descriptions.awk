# Copyright The Fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Takes the descriptions of a pod template's fields out of a definition: `kubectl explain pod` has
# them, and with them the definition would be three times as large.
{
	match($0, /^ */)
	indent = RLENGTH
}
describing && (indent > describing || /^ *$/) { next }
{ describing = 0 }
templated && indent <= templated { templated = 0 }
/^ *template:$/ { templated = indent }
templated && indent > templated + 2 && /^ *description:/ { describing = indent; next }
{ print }
