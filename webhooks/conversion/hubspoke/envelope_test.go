// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"strings"
	"testing"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The API server refuses an answer whose annotations changed and are not valid, and with it a whole list.
func TestWhatIsTakenForAQualifiedNameIsOneToTheAPIServer(t *testing.T) {
	long := strings.Repeat("a", 64)
	for _, name := range []string{
		"a", "A-b_c.d", "example.com/a", "Example.COM/A", "fairlead.dev/conversion-data", "kubectl.kubernetes.io/last-applied-configuration",
		"", "/", "a/", "/a", "-a", "a-", "a b", "a/b/c", "-no name-", "ex_ample.com/a", "example..com/a", "example-.com/a", "-example.com/a",
		long, "example.com/" + long, long + ".com/a", strings.Repeat("a.", 130) + "a/b", "ä", "a\x00",
	} {
		refused := apivalidation.ValidateAnnotations(map[string]string{name: ""}, field.NewPath("annotations"))
		if isQualifiedName([]byte(name)) && len(refused) > 0 {
			t.Errorf("%q is taken for a name that the API server takes, and it says %v", name, refused)
		}
	}
	for _, usual := range []string{"a", "example.com/a", "kubectl.kubernetes.io/last-applied-configuration"} {
		if !isQualifiedName([]byte(usual)) {
			t.Errorf("%q goes the long way", usual)
		}
	}
}
