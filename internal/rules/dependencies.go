// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/text"
)

const (
	// maxDependencies bounds the ExternalServices that a workload may declare, and maxDependsOn the bytes of the
	// annotation: each reader of the workload parses it.
	maxDependencies = 32
	maxDependsOn    = 4096
	// maxQuoted bounds how much of a malformed name a message quotes, in bytes.
	maxQuoted = 80
)

// Dependencies returns the names of the ExternalServices that the annotations of a workload declare, each once. mistake
// is the first mistake in the declaration, as a sentence; empty if there is none. Valid names count even if there is a
// mistake.
func Dependencies(annotations map[string]string) (externalServices []string, mistake string) {
	value, has := annotations[common.DependsOnAnnotation]
	if !has {
		return nil, ""
	}
	if len(value) > maxDependsOn {
		return nil, fmt.Sprintf("annotation %s is ignored: it has %d bytes, and the limit is %d",
			common.DependsOnAnnotation, len(value), maxDependsOn)
	}
	for item := range strings.SplitSeq(value, ",") {
		item = strings.TrimSpace(item)
		name, ok := strings.CutPrefix(item, "externalservice/")
		switch {
		case !ok || len(validation.IsDNS1123Label(name)) > 0:
			mistake = cmp.Or(mistake, fmt.Sprintf("annotation %s: %q is not externalservice/ and the name of an ExternalService",
				common.DependsOnAnnotation, text.Truncate(item, maxQuoted)))
		case slices.Contains(externalServices, name):
		case len(externalServices) == maxDependencies:
			return externalServices, cmp.Or(mistake, fmt.Sprintf("annotation %s names more than %d ExternalServices: the rest is ignored",
				common.DependsOnAnnotation, maxDependencies))
		default:
			externalServices = append(externalServices, name)
		}
	}
	return externalServices, mistake
}
