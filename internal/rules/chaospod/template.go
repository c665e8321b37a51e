// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"encoding/json"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/internal/jsontype"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// templatePath is the path of a pod template. The schema accepts any content there.
const templatePath = "spec.target.template"

const explain = "see `kubectl explain pod.spec`"

// ValidateFields checks the template of an object in JSON. Each field must be one of a pod template, have a value of
// its type, and occur once. It accepts what the old object has as well; old may be nil.
func ValidateFields(obj, old []byte) field.ErrorList {
	if len(old) == 0 {
		return wrongFields(&obj)
	}
	return rules.Ratchet(&obj, &old, wrongFields)
}

func wrongFields(object *[]byte) field.ErrorList {
	var of struct {
		Spec struct {
			Target struct {
				Template json.RawMessage `json:"template"`
			} `json:"target"`
		} `json:"spec"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(*object, &of); err != nil || of.Spec.Target.Template == nil {
		return nil // the schema refuses an object without this path
	}
	strict, err := kjson.UnmarshalStrict(of.Spec.Target.Template, new(corev1.PodTemplateSpec))
	if err != nil {
		path, is := jsontype.Mismatch(of.Spec.Target.Template, func(document []byte) bool {
			return kjson.UnmarshalCaseSensitivePreserveInts(document, new(corev1.PodTemplateSpec)) == nil
		})
		return field.ErrorList{wrongField(field.ErrorTypeInvalid, path, "is "+is+", which does not fit there; "+explain)}
	}
	var errs field.ErrorList
	for _, err := range strict {
		var wrong kjson.FieldError
		switch {
		case !errors.As(err, &wrong):
			errs = append(errs, wrongField(field.ErrorTypeInvalid, "", err.Error()))
		case strings.HasPrefix(err.Error(), "duplicate"):
			errs = append(errs, wrongField(field.ErrorTypeDuplicate, wrong.FieldPath(), "the field occurs twice; remove one of them"))
		default:
			errs = append(errs, wrongField(field.ErrorTypeForbidden, wrong.FieldPath(), "a pod template has no such field; "+explain))
		}
	}
	return errs
}

// wrongField is an error about a field of the template. It does not repeat the value, since the path identifies it.
func wrongField(kind field.ErrorType, path, detail string) *field.Error {
	at := templatePath
	if path != "" {
		at += "." + path
	}
	return &field.Error{Type: kind, Field: at, BadValue: field.OmitValueType{}, Detail: detail}
}

// Canary returns the pod of an object's template, without an owner. The object must have a template.
func Canary(obj *chaosv1.ChaosPod) *corev1.Pod {
	template := obj.Spec.Target.Template.DeepCopy()
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: obj.Namespace, Name: obj.Name, Labels: template.Labels, Annotations: template.Annotations,
		},
		Spec: template.Spec,
	}
}

// podTemplate checks what must hold for every pod template. It has containers, each with a unique name and an image,
// and its labels are valid. The API server validates the rest when the pod is created.
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
