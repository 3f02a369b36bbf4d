    .section .rodata
    .globl floats_ptx
floats_ptx: .incbin "kernels.ptx"
    .byte 0
    .globl halves_ptx
halves_ptx: .incbin "tensor.ptx"
    .byte 0
    .section .note.GNU-stack,"",@progbits
