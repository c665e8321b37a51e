// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/approval"
)

// Digest names what of a spec is approved: the static addresses, with the endpoints and ports that they
// have. The order of lists does not matter to it. It is "" where there are none.
func Digest(spec *networkingv1.ExternalServiceSpec) string {
	var parts []string
	for i := range spec.Endpoints {
		e := &spec.Endpoints[i]
		if len(e.Addresses) == 0 {
			continue
		}
		addresses := slices.Clone(e.Addresses)
		slices.Sort(addresses)
		part, err := json.Marshal([]any{e.Name, portsOf(spec, e), slices.Compact(addresses)})
		if err != nil {
			return "" // strings and numbers always marshal
		}
		parts = append(parts, string(part))
	}
	if len(parts) == 0 {
		return ""
	}
	slices.Sort(parts)
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Approval is the value of the annotation by which user is known to be entitled to the static
// addresses of es as they are now.
func Approval(es *networkingv1.ExternalService, user string) string {
	return approval.Value(user, Digest(&es.Spec))
}

// Approved says whether an approval is on es that covers its static addresses as they are now.
func Approved(es *networkingv1.ExternalService) bool {
	return approval.Covers(es.Annotations[common.ApprovedByAnnotation], Digest(&es.Spec))
}
