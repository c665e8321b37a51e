// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"encoding/json"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/manifest"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

// checkConfiguration checks a configuration file of the operator, or a ConfigMap that holds some, as the operator does at its
// start; flags, which override the file, are not known. It returns false for what is neither.
func checkConfiguration(object *Object, node *manifest.Node, of schema.GroupVersionKind) bool {
	group, _, _ := strings.Cut(options.APIVersion, "/")
	if of.Group == group {
		content, err := json.Marshal(node.Data())
		if err == nil {
			err = operatorErrors(object.APIVersion, content)
		}
		object.addConfiguration(node, "", err)
		return true
	}
	data := node.Get("data")
	if of != corev1.SchemeGroupVersion.WithKind("ConfigMap") || data == nil {
		return false
	}
	holds := false
	for _, member := range data.Members {
		if text := data.Text(member.Key); strings.Contains(text, "apiVersion: "+group+"/") {
			holds = true
			object.addConfiguration(node, manifest.Join("data", member.Key), operatorErrors(member.Key, []byte(text)))
		}
	}
	return holds
}

// operatorErrors returns all that is wrong with the content of a configuration file.
func operatorErrors(name string, content []byte) error {
	configuration, err := options.Parse(name, content)
	if err != nil {
		return err
	}
	var errs []error
	for _, wrong := range configuration.Validate() {
		errs = append(errs, &options.FieldError{Field: wrong.Field, Err: wrong})
	}
	return errors.Join(errs...)
}

// addConfiguration adds a finding for each error, at its field or, where the file is the text of another one, at that.
func (o *Object) addConfiguration(node *manifest.Node, text string, err error) {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		if err == nil {
			continue
		}
		path, message := text, err.Error()
		if wrong, ok := errors.AsType[*options.FieldError](err); ok && text == "" {
			path, message = wrong.Field, wrong.Err.Error()
		}
		if invalid, ok := errors.AsType[*field.Error](err); ok && text == "" {
			message = invalid.ErrorBody()
		}
		at, _ := node.Find(path)
		o.Findings = append(o.Findings, Finding{Severity: Error, Rule: RuleOperator, Line: at.Line, Column: at.Column,
			Field: path, Message: message})
	}
	sortByPosition(o.Findings)
}
