// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/internal/rules"
)

// podTemplate checks what is certain about a pod template without being the API server, which
// judges the whole of it when the pod is made: it has containers, each with a name of its own and
// an image, and labels that a pod may carry.
func podTemplate(path rules.Path, t *corev1.PodTemplateSpec) field.ErrorList {
	errs := metav1validation.ValidateLabels(t.Labels, path.Child("metadata", "labels").Field())
	if len(t.Spec.Containers) == 0 {
		errs = append(errs, field.Required(path.Child("spec", "containers").Field(), "a pod needs at least one container"))
	}
	names := sets.New[string]()
	for _, list := range []struct {
		field      string
		containers []corev1.Container
	}{{"initContainers", t.Spec.InitContainers}, {"containers", t.Spec.Containers}} {
		for i := range list.containers {
			errs = append(errs, container(path.Child("spec", list.field).Index(i), &list.containers[i], names)...)
		}
	}
	return errs
}

func container(path rules.Path, c *corev1.Container, names sets.Set[string]) field.ErrorList {
	var errs field.ErrorList
	switch {
	case c.Name == "":
		errs = append(errs, field.Required(path.Child("name").Field(), ""))
	case names.Has(c.Name):
		errs = append(errs, field.Duplicate(path.Child("name").Field(), c.Name))
	default:
		for _, reason := range validation.IsDNS1123Label(c.Name) {
			errs = append(errs, field.Invalid(path.Child("name").Field(), c.Name, reason))
		}
	}
	names.Insert(c.Name)
	switch {
	case c.Image == "":
		errs = append(errs, field.Required(path.Child("image").Field(), ""))
	case c.Image != strings.TrimSpace(c.Image):
		errs = append(errs, field.Invalid(path.Child("image").Field(), c.Image, "must not begin or end with white space"))
	}
	return errs
}
