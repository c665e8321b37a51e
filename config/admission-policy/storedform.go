// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// foreign are places whose inside is the schema of others. Of a pod template the API server judges
// more when the pod is made than a policy could say.
var foreign = map[string]bool{"metadata": true, "status": true, "spec.target.template": true}

// storedForm derives, from the schema and the CEL rules of the stored version, what that version
// demands of any object. The API server checks those for a request at that version alone; an object
// written at another one is converted and stored without them, and only the webhook has looked at it
// (k8s.io/apiextensions-apiserver/pkg/apiserver, customresource_handler.go).
func storedForm(kind Kind) (content, error) {
	d := &derivation{}
	d.node(path{}, kind.schema)
	if len(d.errs) > 0 {
		return content{}, fmt.Errorf("%s: %w", kind.Name, errors.Join(d.errs...))
	}
	c := content{validations: d.found}
	// A rule reads fields that the schema requires. The API server runs none where one is missing. Each
	// requirement is a variable of its own: the type checker of kube-controller-manager compiles all
	// variables once for each validation, in a time that is cubic in the length of one.
	for _, view := range []struct{ name, root string }{{"formed", "object"}, {"wasFormed", "oldObject"}} {
		var there []string
		for i, r := range d.required {
			name := fmt.Sprintf("%s%d", view.name, i)
			c.define(name, "%s", r.at.all(view.root, r.condition))
			there = append(there, "variables."+name)
		}
		c.define(view.name, "%s", strings.Join(there, " && "))
	}
	return c, nil
}

type derivation struct {
	found    []admissionv1.Validation
	required []requirement
	errs     []error
}

// requirement is what must be there for rules to be asked.
type requirement struct {
	at        path
	condition string
}

func (d *derivation) node(at path, s *apiextensionsv1.JSONSchemaProps) {
	if foreign[at.String()] {
		return
	}
	d.limits(at, s)
	for _, rule := range s.XValidations {
		d.rule(at, s, rule)
	}
	for _, name := range names(s) {
		child := s.Properties[name]
		d.node(at.child(step{field: name}), &child)
	}
	if s.Items != nil && s.Items.Schema != nil {
		d.node(at.child(step{}), s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		d.node(at.child(step{keyed: true}), s.AdditionalProperties.Schema)
	}
}

func (d *derivation) limits(at path, s *apiextensionsv1.JSONSchemaProps) {
	if len(at) == 0 {
		s = &apiextensionsv1.JSONSchemaProps{Type: s.Type, Required: s.Required} // apiVersion and kind are the API server's
	}
	l, err := limitOf(s)
	if err != nil {
		d.errs = append(d.errs, fmt.Errorf("%s: %w", at, err))
		return
	}
	if len(s.Required) > 0 {
		d.required = append(d.required, requirement{at, present(s)})
	}
	words := strings.Join(l.words, ", ")
	if words == "" {
		words = "of type " + s.Type
	}
	d.add(at, at.ratcheted(strings.Join(l.conditions, " && ")), "must be "+words)
}

func (d *derivation) rule(at path, s *apiextensionsv1.JSONSchemaProps, rule apiextensionsv1.ValidationRule) {
	expression, err := withDefaults(rule.Rule, s)
	if err != nil {
		d.errs = append(d.errs, fmt.Errorf("%s: rule %q: %w", at, rule.Rule, err))
		return
	}
	if !strings.Contains(rule.Rule, "oldSelf") {
		d.add(at, at.ratchetedWhere(enclosed(expression), "variables.formed", "variables.wasFormed"), rule.Message)
		return
	}
	if slices.ContainsFunc(at, func(s step) bool { return s.field == "" }) {
		d.errs = append(d.errs, fmt.Errorf("%s: rule %q compares items of a list with stored ones, which a policy cannot match up", at, rule.Rule))
		return
	}
	before := strings.ReplaceAll(expression, "oldSelf", "was")
	d.add(at, "oldObject == null || !variables.formed || !variables.wasFormed || "+at.all("object", "["+("oldObject."+at.String())+"].all(was, "+before+")"), rule.Message)
}

func (d *derivation) add(at path, expression, message string) {
	if text := at.String(); text != "" {
		message = text + ": " + message
	} else {
		message = "metadata: " + message
	}
	d.found = append(d.found, admissionv1.Validation{Expression: expression, Message: message})
}

// withDefaults lets a rule read what may be absent: the API server fills in a schema's defaults at the
// version of the request, and not in what it converts for admission.
func withDefaults(rule string, s *apiextensionsv1.JSONSchemaProps) (string, error) {
	for name, value := range defaults(s) {
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			continue // no rule compares other values
		}
		if strings.Contains(rule, ".?"+name) {
			return "", fmt.Errorf("it handles the absence of %s itself, which has a default", name)
		}
		read := regexp.MustCompile(`(has\()?\b(\w+)\.` + regexp.QuoteMeta(name) + `\b`)
		rule = read.ReplaceAllStringFunc(rule, func(match string) string {
			if strings.HasPrefix(match, "has(") {
				return match
			}
			holder, _, _ := strings.Cut(match, ".")
			return holder + ".?" + name + ".orValue(" + quote(text) + ")"
		})
	}
	return rule, nil
}

// defaults are those of the fields at and below a node, by the name of the field.
func defaults(s *apiextensionsv1.JSONSchemaProps) map[string][]byte {
	found := map[string][]byte{}
	for name, child := range s.Properties {
		if name == "status" || name == "template" {
			continue
		}
		if child.Default != nil {
			found[name] = child.Default.Raw
		}
		for inner, value := range defaults(&child) {
			found[inner] = value
		}
	}
	if s.Items != nil && s.Items.Schema != nil {
		for inner, value := range defaults(s.Items.Schema) {
			found[inner] = value
		}
	}
	return found
}
