// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package translation_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/webhooks/admission/translation"
)

// draw writes v1alpha1 specs of which hardly any is valid. Every choice in <a|b> is drawn.
func draw(random *rand.Rand, pattern string) string {
	for {
		end := strings.IndexByte(pattern, '>')
		if end < 0 {
			return pattern
		}
		begin := strings.LastIndexByte(pattern[:end], '<')
		choices := strings.Split(pattern[begin+1:end], "|")
		pattern = pattern[:begin] + choices[random.IntN(len(choices))] + pattern[end+1:]
	}
}

const (
	port  = "<1|80|0|-1|70000>"
	times = "<, periodSeconds: 1|, periodSeconds: 2147483647|><, timeoutSeconds: 2|, timeoutSeconds: 2147483647|><, failureThreshold: 0|, failureThreshold: 500|><, successThreshold: 200|>"
	host  = "<a.example.com|127.0.0.1|224.0.0.1|localhost|x.svc|UPPER|1.2.3|'::ffff:1.2.3.4'|'fe80::1%eth0'|'2001:DB8::1'|192.0.2.1|''|'a b'>"
	check = "httpGet: {port: " + port + "<, path: x|, path: '/a b'|>, host: <a.example.com|'a b'|'' >, scheme: <HTTP|FTP>}"
)

var drawn = map[string]string{
	"ExternalService": "{hosts: [" + host + "<, " + host + "|>], ports: {<a|UP|a.b|waytoolongforaport>: " + port + ", b: " + port + "}<, refreshSeconds: <0|-1|60>|>" +
		"<, probe: {<" + "<tcpSocket: {port: " + port + "}, |>" + "<grpc: {port: " + port + ", service: 'a b'}, |>" + "<" + check + "|x: 1>" + ">" + times + "}|>}",
	"RebootPolicy": "{target: {kind: <Deployment|Job|''>, name: <web|'A b'|''>}, policies: [<{name: <up|UP>, comment: c, trigger: {probe: {" +
		"<tcpSocket: {port: <80|web|0|99999>, host: <'a b'|a>}, |><grpc: {port: " + port + "}, |>" + check + times + "}}}|>]}",
	"ChaosPod": "{<template: {<metadata: {labels: {<'-'|a>: <'/'|b>}}, |>spec: {containers: [<{name: <A|a|''>, image: <''|' x'|x>}|>]<, initContainers: [{name: a}]|>}}|nextStop: '2027-01-01T00:00:00Z'>}",
}

func TestEveryPathThatIsToldOfAV1alpha1ObjectIsOneOfV1alpha1(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for kind, pattern := range drawn {
		schema := definition(t, kind)[translation.Version]
		said := 0
		for range 400 {
			spec := draw(random, pattern)
			errs, warnings := told(t, kind, nil, spec)
			said += len(errs)
			for _, text := range append(errs, warnings...) {
				path, _, _ := strings.Cut(text, ": ")
				if strings.HasPrefix(path, "spec") && !exists(schema, path) {
					t.Fatalf("%s %s:\n%s\nnames a field that v1alpha1 does not have", kind, spec, text)
				}
			}
		}
		if said < 200 {
			t.Errorf("%s: no more than %d errors were found: what is drawn is too good", kind, said)
		}
	}
}

func FuzzNoPathPanics(f *testing.F) {
	f.Add("ExternalService", "spec.ports[1].port")
	f.Add("RebootPolicy", "spec.targets[99999999999999999999]")
	f.Add("ChaosPod", "spec.target.template[")
	f.Add("ExternalService", "spec.endpoints[0].addresses[3]")
	f.Fuzz(func(t *testing.T, kind, path string) {
		for _, stored := range []map[string]any{nil, {"spec": 1}, {"spec": map[string]any{"endpoints": []any{1, nil}, "ports": []any{"a"}, "triggers": []any{[]any{}}}}} {
			o := translation.New(kind, stored)
			if at := o.Field(path); !at.Exact() && at.Stored != path {
				t.Error(fmt.Sprint(at))
			}
			o.Warning(path + ": endpoint \"a\"")
		}
	})
}
