// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// head begins each file of policies.
const head = `# Made by package config/admission-policy from the CRDs and rules: do not edit. To regenerate it:
#
#   go test -trimpath ./config/admission-policy -run TestTheShippedPoliciesAreCurrent -update
#
# %s
`

// reasons say why each sort of policy is there, and what it leaves to others.
var reasons = map[string]string{
	"stored-form": `What v1 demands of any object, for those that are written at another version. The API server checks the
# schema and the CEL rules of v1 only for requests at v1; an object that comes in at v1alpha1 is converted
# and stored without them, and the webhook is all that looks at it. A rule that the stored object breaks
# already is forgiven, and so is everything in a block of the spec that an update leaves as it is.`,
	"marks": `What no other rule of the API server bounds: the restore annotations, which would make an object, and
# every list of its kind, unreadable at the other version; and for ExternalServices the names by which
# they could take what is others'.`,
	"rights": `What takes rights of the writer, who must not have by the operator what the API server does not let
# them have themselves. The webhook asks the same questions, and more of them: an expression may ask two,
# and a policy 28. Only what a request adds is asked about, or all of it where an object begins to act.`,
	"reads": `What the operator would read for the writer. A policy of its own, since each may ask 28 questions.`,
	"gates": `What the operator would read to open and close gates, and show in the status.`,
}

// Manifest writes a policy and its binding as YAML.
func Manifest(p Policy) ([]byte, error) {
	var out bytes.Buffer
	_, _ = fmt.Fprintf(&out, head, reasons[p.sort()])
	for i, object := range []any{p.Policy, p.Binding} {
		raw, err := json.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Policy.Name, err)
		}
		var tree map[string]any
		if err := json.Unmarshal(raw, &tree); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Policy.Name, err)
		}
		delete(tree, "status")
		text, err := yaml.Marshal(tree)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Policy.Name, err)
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

// FileName is that of the policy's manifest in config/admission-policy.
func (p Policy) FileName() string {
	return strings.ReplaceAll(strings.TrimPrefix(p.Policy.Name, "fairlead-"), "-", "_") + ".yaml"
}

// sort is what follows the kind in the policy's name.
func (p Policy) sort() string {
	_, sort, _ := strings.Cut(strings.TrimPrefix(p.Policy.Name, "fairlead-"), "-")
	return sort
}
